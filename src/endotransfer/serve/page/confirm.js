// A question that must be answered before something of worth is put aside.
import { element } from "./state.js";

const dialog = element("confirm");

export function confirmed(text, yes) {
  element("confirm-text").textContent = text;
  element("confirm-yes").textContent = yes;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
