// The page has no build step: what is linted here is what the browser runs.
import js from "@eslint/js";
import globals from "globals";

const RULES = {
  "curly": ["error", "multi-line"],
  "eqeqeq": "error",
  "max-len": ["error", { code: 150 }],
  "max-lines": ["error", 300],
  "max-lines-per-function": ["error", 40],
  "no-eval": "error",
  "no-implied-eval": "error",
  "no-restricted-properties": ["error",
    { property: "innerHTML", message: "texts of others must stay texts: use textContent" },
    { property: "outerHTML", message: "texts of others must stay texts: use textContent" }],
  "no-var": "error",
  "prefer-const": "error",
};

export default [
  { ...js.configs.recommended, rules: { ...js.configs.recommended.rules, ...RULES } },
  { files: ["src/**/*.js"], languageOptions: { globals: globals.browser } },
  { files: ["tests/page/**"], languageOptions: { globals: globals.nodeBuiltin } },
];
