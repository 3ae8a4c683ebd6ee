// Keeps copies of the open files in the browser's storage, for after a reload. Without storage, as in a private window,
// nothing is kept.

interface KeptFile {
  id: string;
  file: File;
}

const name = "footnote-files";

function withStore<T>(mode: IDBTransactionMode, use: (s: IDBObjectStore) => IDBRequest<T>): Promise<T | undefined> {
  return new Promise((resolve) => {
    let request: IDBOpenDBRequest;
    try {
      request = indexedDB.open(name, 1);
    } catch {
      return resolve(undefined);
    }
    request.onupgradeneeded = () => request.result.createObjectStore("files", { keyPath: "id" });
    request.onerror = () => resolve(undefined);
    request.onsuccess = () => {
      const db = request.result;
      const done = (v: T | undefined) => {
        db.close();
        resolve(v);
      };
      try {
        // Wait for the transaction to complete: if the page is closed earlier, the change may be lost.
        const t = db.transaction("files", mode);
        const r = use(t.objectStore("files"));
        t.oncomplete = () => done(r.result);
        t.onabort = () => done(undefined);
      } catch {
        done(undefined);
      }
    };
  });
}

export async function keptFiles(): Promise<KeptFile[]> {
  const all = await withStore<{ id: string; file: File; at: number }[]>("readonly", (s) => s.getAll());
  return (all ?? []).sort((a, b) => a.at - b.at).map(({ id, file }) => ({ id, file }));
}

export async function keepFile(id: string, file: File): Promise<void> {
  await withStore("readwrite", (s) => s.put({ id, file, at: Date.now() }));
}

export async function forgetFile(id: string): Promise<void> {
  await withStore("readwrite", (s) => s.delete(id));
}
