// A worker that reads a file into tables. Formats that DuckDB cannot read without an extension are converted to CSV.
import { sniff } from "./csv";
import { readJSON } from "./json";
import { ofObjects, tableName, toCSV, type ReadTable } from "./tables";

export interface Ingest {
  file: File;
  taken: string[];
}

/** CSV bytes with the types of their columns, or with the detected format. */
export interface Ingested {
  name: string;
  data: Uint8Array<ArrayBuffer>;
  columns?: { name: string; type: string }[];
  csv?: { delimiter: string; header?: boolean; decimalComma: boolean; codes: string[] };
}

const maxBytes = 1 << 30;
const maxParquetRows = 5_000_000;

async function read({ file, taken }: Ingest): Promise<Ingested[]> {
  if (file.size > maxBytes) throw new Error("The file is larger than 1 GB. Upload it to the server instead.");
  if (file.size === 0) throw new Error("The file is empty.");
  const data = new Uint8Array(await file.arrayBuffer());
  const kind = /\.([a-z]+)$/i.exec(file.name)?.[1]?.toLowerCase() ?? "";
  const names = new Set(taken);
  const free = (from: string) => {
    const name = tableName(from, names);
    names.add(name);
    return name;
  };
  switch (kind) {
    case "json":
    case "jsonl":
    case "ndjson": {
      const tables = readJSON(file.name, new TextDecoder().decode(data));
      return tables.map((t) => typed(free(t.name), t));
    }
    case "xlsx": {
      const { readXLSX } = await import("./xlsx");
      const tables = attempt("The file is not an XLSX workbook, or it is damaged. Save it again as XLSX or CSV.", () =>
        readXLSX(data),
      );
      if (!tables.length) throw new Error("No sheet of the workbook has data.");
      return tables.map((t) => typed(free(tables.length === 1 ? file.name : t.name), t));
    }
    case "parquet":
      return [typed(free(file.name), await parquet(file.name, data))];
    case "csv":
    case "tsv":
    case "txt": {
      const { data: bytes, ...csv } = sniff(data, kind === "tsv");
      return [{ name: free(file.name), data: new Uint8Array(bytes), csv }];
    }
    default:
      throw new Error("You can open CSV, TSV, Excel, Parquet and JSON files.");
  }
}

/** Calls f and replaces its error, because the libraries' messages are about bytes. */
function attempt<T>(message: string, f: () => T): T {
  try {
    return f();
  } catch {
    throw new Error(message);
  }
}

async function parquet(name: string, data: Uint8Array<ArrayBuffer>): Promise<ReadTable> {
  const [{ parquetReadObjects, parquetMetadata }, { compressors }] = await Promise.all([
    import("hyparquet"),
    import("hyparquet-compressors"),
  ]);
  const metadata = attempt("The file is not a Parquet file, or it is damaged.", () => parquetMetadata(data.buffer));
  if (metadata.num_rows > maxParquetRows)
    throw new Error("The file has more than 5 million rows. Upload it to the server instead.");
  return ofObjects(name, await parquetReadObjects({ file: data.buffer, metadata, compressors }));
}

function typed(name: string, t: ReadTable): Ingested {
  if (!t.columns.length || !t.rows.length) throw new Error(`There are no rows in ${t.name}.`);
  return { name, columns: t.columns, data: toCSV(t) };
}

addEventListener("message", (e: MessageEvent<Ingest>) => {
  read(e.data).then(
    (tables) => postMessage({ tables }, { transfer: tables.map((t) => t.data.buffer) }),
    (err: unknown) => postMessage({ error: err instanceof Error ? err.message : "The file cannot be read." }),
  );
});
