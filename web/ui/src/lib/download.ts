/** Downloads a file from this server. */
export function download(url: string, name = ""): void {
  const a = document.createElement("a");
  a.href = url;
  a.download = name;
  a.click();
}

/** Saves data as a file. */
export function save(data: Blob, name: string): void {
  const url = URL.createObjectURL(data);
  download(url, name);
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Makes a file name from a title. */
export function fileName(title: string, extension: string): string {
  const words = title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 60);
  return `${words || "result"}.${extension}`;
}
