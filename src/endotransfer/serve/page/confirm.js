// A question that must be answered before something of worth is put aside.
import { dialog, element } from "./dom.js";

const asking = dialog("confirm");

/** @param {string} text @param {string} yes @returns {Promise<boolean>} */
export function confirmed(text, yes) {
  element("confirm-text").textContent = text;
  element("confirm-yes").textContent = yes;
  asking.returnValue = "no";
  asking.showModal();
  return new Promise((resolve) => {
    asking.addEventListener("close", () => resolve(asking.returnValue === "yes"), { once: true });
  });
}
