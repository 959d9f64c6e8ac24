// What this browser remembers of a visit: small texts, none of them precious.
/** @param {string} name @param {string} fallback @returns {string} */
export function recall(name, fallback) {
  try { return localStorage.getItem(`endotransfer.${name}`) ?? fallback; } catch { return fallback; }
}

/** @param {string} name @param {string} value */
export function remember(name, value) {
  try { localStorage.setItem(`endotransfer.${name}`, value); } catch { /* a private window keeps nothing */ }
}
