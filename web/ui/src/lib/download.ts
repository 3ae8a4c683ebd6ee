/** Downloads a file from this server. The title, if there is one, names the file. */
export function download(url: string, title = ""): void {
  start(title ? `${url}&name=${encodeURIComponent(slug(title))}` : url);
}

function start(url: string, name = ""): void {
  const a = document.createElement("a");
  a.href = url;
  a.download = name;
  a.click();
}

/** Saves data as a file. */
export function save(data: Blob, name: string): void {
  const url = URL.createObjectURL(data);
  start(url, name);
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Makes a file name from a title. */
export const fileName = (title: string, extension: string): string => `${slug(title)}.${extension}`;

function slug(title: string): string {
  const words = title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-");
  return words.slice(0, 60).replace(/^-+|-+$/g, "") || "result";
}
