// Who sits before the page: a name that is saved with every decision.
import { input, onValue } from "./dom.js";
import { recall, remember } from "./memory.js";
import { emit, state } from "./state.js";

const field = input("who");

/** The name as typed; empty where there is none. */
export const reviewerName = () => field.value.trim();
export const nameOrNone = () => reviewerName() || "unnamed";

field.value = recall("who", "");
onValue(field, "change", () => { remember("who", field.value); if (state.image) emit("sides"); });
