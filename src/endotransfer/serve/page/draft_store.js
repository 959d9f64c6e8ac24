// Where this browser keeps drawings that are not saved yet: IndexedDB, which has room for more than short texts.  A
// browser that has none, or forbids it, keeps nothing, and that is no fault.
const NAME = "endotransfer";
const STORE = "drafts";
/** @type {Promise<IDBDatabase | null> | undefined} */
let opening;

/** @returns {Promise<IDBDatabase | null>} */
function database() {
  opening ??= new Promise((resolve) => {
    try {
      const request = indexedDB.open(NAME, 1);
      request.onupgradeneeded = () => request.result.createObjectStore(STORE);
      request.onsuccess = () => resolve(request.result);
      request.onerror = request.onblocked = () => resolve(null);
    } catch { resolve(null); }
  });
  return opening;
}

/**
 * @template T
 * @param {IDBTransactionMode} mode @param {(store: IDBObjectStore) => IDBRequest<T>} work
 * @returns {Promise<T | undefined>}
 */
async function ask(mode, work) {
  const known = await database();
  if (!known) return undefined;
  return new Promise((resolve) => {
    try {
      const request = work(known.transaction(STORE, mode).objectStore(STORE));
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => resolve(undefined);
    } catch { resolve(undefined); }
  });
}

/** @param {string} key @returns {Promise<unknown>} */
export const readDraft = (key) => ask("readonly", (store) => store.get(key));
/** @param {string} key @param {unknown} value */
export const writeDraft = (key, value) => ask("readwrite", (store) => store.put(value, key));
/** @param {string} key */
export const removeDraft = (key) => ask("readwrite", (store) => store.delete(key));
