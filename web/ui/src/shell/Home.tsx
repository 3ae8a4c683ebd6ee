import { Suspense, useEffect, useState } from "react";
import { api, sentence, type Session } from "../api/client";
import { useAway } from "../api/away";
import { invalidate, useLoad } from "../api/load";
import { later } from "../lib/later";
import { Boundary } from "../ui/Boundary";
import { asksSources, Composer, chip } from "../composer/Composer";
import { go, useRoute } from "../lib/router";
import { open } from "../thread/ask";
import { Icon } from "../ui/Icon";
import { chooseLocal, chooseUpload, forgetClosed, forgetMissing, isThere, setChoice, useChoice } from "./choice";
import { refresh } from "./conversations";
import { Attach } from "../panes/files/Attach";
import { local, named, opening, restore, schemaText, tables, useLocal } from "../panes/files/store";

const LocalFiles = later(() => import("../panes/files/LocalFiles"));

/** The page before the first question. */
export function Home({ session }: { session: Session }) {
  const choice = useChoice();
  const [error, setError] = useState("");
  const assistants = useLoad("assistants", api.assistants);
  const sources = useLoad("sources", api.sources);
  const source = choice.sources?.[0] ?? "";
  const data = asksSources(assistants.data?.assistants.find((a) => a.name === choice.assistant));
  const there = sources.data?.sources;
  useEffect(() => {
    if (there) forgetMissing(there.map((s) => s.name));
  }, [there]);
  // What was chosen on an earlier visit may be gone; the list says so.
  const known =
    source === "" ||
    (there &&
      isThere(
        source,
        there.map((s) => s.name),
      ));
  const suggestions = useLoad(data && known ? `suggestions:${source}` : "", () => api.suggestions(source));
  const away = useAway();
  const all = [assistants, sources, suggestions];
  const again = () => all.forEach((l) => l.reload());
  // A source that cannot be read is why it has no suggestions.
  const broken = data ? (sources.data?.sources ?? []).filter((s) => !s.ok && (source === "" || source === s.name)) : [];
  const failed = all.find((l) => l.error !== undefined && !l.loading && !(l === suggestions && broken.length > 0));
  const at = useRoute();
  const files = useLocal().files;
  const explores = choice.assistant === "explore";
  useEffect(() => {
    if (explores) void restore().then(() => local().files.length === 0 && forgetClosed());
  }, [explores]);
  const ask = async (text: string, context?: string) => {
    if (explores) {
      await tables();
      context = [schemaText(local().files), context].filter(Boolean).join("\n");
    }
    try {
      await open({ text, ...choice, sources: data ? choice.sources : undefined, ...(context ? { context } : {}) });
    } catch (err) {
      invalidate("sources"); // perhaps the chosen one was deleted meanwhile
      throw err;
    }
    void refresh();
  };
  return (
    <div className="scroll min-h-0 flex-1">
      <div className="relative mx-auto w-full max-w-thread px-5 pt-[14dvh] pb-8">
        {away && <Away />}
        <h1 className="font-serif text-2xl font-medium tracking-tight text-balance">What do you want to know?</h1>
        <p className="mt-1 mb-6 text-ink-soft">Every number in the answer has a footnote: its query and its cell.</p>
        {(explores || files.length > 0) && (
          <Boundary>
            <Suspense fallback={null}>
              <LocalFiles offline={session.offline} asked={explores} />
            </Suspense>
          </Boundary>
        )}
        <Composer
          name="home"
          autoFocus
          placeholder="Ask about your data"
          onSend={ask}
          off={away ? "the server does not answer" : explores ? opening(files) : undefined}
          tables={explores ? named(files) : undefined}
          sources={!data ? undefined : (choice.sources ?? sources.data?.sources.filter((s) => s.ok).map((s) => s.name))}
          choice={{
            now: choice,
            set: setChoice,
            assistants: assistants.data?.assistants ?? [],
            sources: sources.data?.sources ?? [],
          }}
          tools={
            <>
              {data && (
                <button
                  type="button"
                  className={`${chip} shrink-0 border-transparent`}
                  aria-pressed={at.view === "data"}
                  onClick={() => go({ view: at.view === "data" ? undefined : "data" })}
                >
                  <Icon name="table" small />
                  <span className="max-sm:sr-only">Browse</span>
                </button>
              )}
              <Attach session={session} onLocal={chooseLocal} onUploaded={chooseUpload} />
            </>
          }
        />
        {error && (
          <p role="alert" className="mt-2 text-sm text-bad">
            {error}
          </p>
        )}
        {failed && !away && (
          <p role="alert" className="mt-4 flex items-baseline gap-3 text-sm text-bad">
            <span>{failed.error}</span>
            <Again onClick={again} />
          </p>
        )}
        <section aria-label="Questions to begin with" className="mt-6 min-h-68 sm:min-h-34">
          <ul className="grid gap-x-6 sm:grid-cols-2">
            {(suggestions.data?.suggestions ?? []).slice(0, 6).map((s) => (
              <li key={s.text} className="border-b">
                <button
                  type="button"
                  title={s.reading}
                  onClick={() => {
                    setError("");
                    ask(s.text).catch((err) => setError(sentence(err)));
                  }}
                  className="group flex min-h-11 w-full items-center gap-3 rounded-sm py-2 text-left text-sm text-ink-soft hover:text-ink"
                >
                  <span className="flex-1">{s.text}</span>
                  <Icon name="chevron" small className="text-ink-quiet group-hover:text-accent" />
                </button>
              </li>
            ))}
          </ul>
          {broken.map((s) => (
            <p key={s.name} role="alert" className="mt-3 flex items-baseline gap-3 text-sm">
              <span className="min-w-0 flex-1 text-ink-soft">
                <span className="font-medium text-ink">{s.name}</span> cannot be read.{" "}
                <span className="text-bad">{s.error}</span>
              </span>
              <Again onClick={again} disabled={sources.loading || away} />
            </p>
          ))}
        </section>
        {session.offline && (
          <p className="mt-6 text-xs text-ink-quiet" title={session.offline_hint}>
            No AI model is connected: the offline planner answers simple questions by fixed rules, on this machine.
          </p>
        )}
      </div>
    </div>
  );
}

function Again({ onClick, disabled }: { onClick: () => void; disabled?: boolean }) {
  return (
    <button
      type="button"
      disabled={disabled}
      onClick={onClick}
      className="shrink-0 rounded-sm font-medium underline underline-offset-2 disabled:text-ink-quiet disabled:no-underline"
    >
      Try again
    </button>
  );
}

/** Stands in the space above the heading, so that nothing moves. */
function Away() {
  return (
    <p role="status" className="absolute inset-x-5 top-4 flex items-center gap-2 text-sm text-ink-soft">
      <Icon name="spinner" small className="turning shrink-0" />
      <span>The server does not answer. What you see is from before; it is asked again by itself.</span>
    </p>
  );
}
