// A value that stays in the visitor's own browser (IndexedDB) over a reload, as base64: it is read once the page opens and sent to
// the page as the trigger `found`, and written when the page has another. Asks before who leaves loses what is not in it yet.

import { mounted } from "./mounted.js";

const BASE = "observatory";
const STORE = "kept";

export const receive = mounted(() => new Kept());

class Kept {
  constructor() {
    this.ask = (event) => this.unsaved && event.preventDefault();
    addEventListener("beforeunload", this.ask);
  }

  show({ name, digest, value, unsaved }) {
    this.unsaved = unsaved;
    if (this.digest === undefined && !digest) {
      this.digest = "";
      this.run("readonly", (store) => store.get(name)).then((found) => found && this.component.setTriggerValue("found", found), () => {});
    } else if (digest !== this.digest) {
      this.digest = digest;
      this.run("readwrite", (store) => (value ? store.put(value, name) : store.delete(name))).catch(() => {}); // none in private windows
    }
  }

  run(mode, act) {
    return new Promise((done, failed) => {
      const opening = indexedDB.open(BASE, 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
      opening.onerror = () => failed(opening.error);
      opening.onsuccess = () => {
        const base = opening.result;
        const asked = act(base.transaction(STORE, mode).objectStore(STORE));
        asked.onsuccess = () => (base.close(), done(asked.result));
        asked.onerror = () => (base.close(), failed(asked.error));
      };
    });
  }

  close() {
    removeEventListener("beforeunload", this.ask);
  }
}
