/** Lets the browser save what is at an address of this server. */
export function download(url: string, name = ""): void {
  const a = document.createElement("a");
  a.href = url;
  a.download = name;
  a.click();
}

/** Lets the browser save what was made here. */
export function save(data: Blob, name: string): void {
  const url = URL.createObjectURL(data);
  download(url, name);
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A name for a file, from a title. */
export function fileName(title: string, extension: string): string {
  const words = title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 60);
  return `${words || "result"}.${extension}`;
}
