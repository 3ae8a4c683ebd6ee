import { format, tokens } from "./statement";

const keywords = new Set(
  "select from where group by order having limit offset join left right inner outer full cross natural on using as and or not in is null between like ilike case when then else end distinct union all except intersect with over partition asc desc exists values cast filter qualify true false interval".split(
    " ",
  ),
);

/** A formatted statement with highlighted keywords. */
export function Sql({ sql, className = "" }: { sql: string; className?: string }) {
  return (
    <pre
      tabIndex={0}
      className={`overflow-auto rounded-md bg-sunken p-2.5 font-mono text-xs whitespace-pre-wrap wrap-anywhere ${className}`}
    >
      {tokens(format(sql)).map((t, i) => {
        if (t.kind === "word" && keywords.has(t.text.toLowerCase())) {
          return (
            <span key={i} className="font-semibold text-accent">
              {t.text}
            </span>
          );
        }
        if (t.kind === "text") {
          return (
            <span key={i} className="text-good">
              {t.text}
            </span>
          );
        }
        return t.text;
      })}
    </pre>
  );
}
