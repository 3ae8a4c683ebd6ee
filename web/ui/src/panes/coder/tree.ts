export interface Folder<F> {
  name: string;
  path: string;
  folders: Folder<F>[];
  files: F[];
}

/** Groups files by folder. A folder that contains only one folder is merged with it: a/b/c. */
export function tree<F extends { path: string }>(files: readonly F[]): Folder<F> {
  const root: Folder<F> = { name: "", path: "", folders: [], files: [] };
  const known = new Map<string, Folder<F>>([["", root]]);
  const folder = (path: string): Folder<F> => {
    const old = known.get(path);
    if (old) return old;
    const cut = path.lastIndexOf("/");
    const made: Folder<F> = { name: path.slice(cut + 1), path, folders: [], files: [] };
    folder(cut < 0 ? "" : path.slice(0, cut)).folders.push(made);
    known.set(path, made);
    return made;
  };
  for (const f of files) folder(f.path.includes("/") ? f.path.slice(0, f.path.lastIndexOf("/")) : "").files.push(f);
  return { ...root, folders: root.folders.map(merged) };
}

function merged<F>(f: Folder<F>): Folder<F> {
  const folders = f.folders.map(merged);
  const only = folders[0];
  if (f.files.length === 0 && folders.length === 1 && only) return { ...only, name: `${f.name}/${only.name}` };
  return { ...f, folders };
}
