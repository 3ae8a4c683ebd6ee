import { Suspense, useEffect, useState } from "react";
import { api, errorMessage, type Session, type Suggestion } from "../api/client";
import { useAway } from "../api/away";
import { invalidate, useLoad } from "../api/load";
import { lazyComponent } from "../lib/lazy";
import { Boundary } from "../ui/Boundary";
import { queriesSources, Composer, chip } from "../composer/Composer";
import { go, useRoute } from "../lib/router";
import { startConversation } from "../thread/ask";
import { Icon } from "../ui/Icon";
import { chooseLocal, chooseUpload, forgetClosed, forgetMissing, isAvailable, setChoice, useChoice } from "./choice";
import { refresh } from "./conversations";
import { schemaSent } from "./sentSchemas";
import { Attach } from "../panes/files/Attach";
import { examples, sampleFile, sampleQuestions } from "../panes/files/examples";
import { OpenFile } from "../panes/files/OpenFile";
import {
  addFiles,
  local,
  mentionableTables,
  openingReason,
  restore,
  schemaText,
  tables,
  useLocal,
  type LocalFile,
} from "../panes/files/store";

const LocalFiles = lazyComponent(() => import("../panes/files/LocalFiles"));

/** Loads the assistants, the sources, and suggested questions about the chosen source. */
function useStartData({ assistant, sources: chosen }: ReturnType<typeof useChoice>) {
  const assistants = useLoad("assistants", api.assistants);
  const sources = useLoad("sources", api.sources);
  const source = chosen?.[0] ?? "";
  const chosenAssistant = assistants.data?.assistants.find((a) => a.name === assistant);
  const usesSources = queriesSources(chosenAssistant);
  const listed = sources.data?.sources;
  const names = listed?.map((s) => s.name);
  useEffect(() => {
    if (listed) forgetMissing(listed.map((s) => s.name));
  }, [listed]);
  // The source chosen on an earlier visit may have been deleted, so wait for the list.
  const known = source === "" || (names !== undefined && isAvailable(source, names));
  const suggestions = useLoad(usesSources && known ? `suggestions:${source}` : "", () => api.suggestions(source));
  const all = [assistants, sources, suggestions];
  // If a source cannot be read, its error is shown instead of the one about suggestions.
  const broken = usesSources ? (listed ?? []).filter((s) => !s.ok && (source === "" || source === s.name)) : [];
  return {
    assistants: assistants.data?.assistants ?? [],
    sources: listed ?? [],
    readable: chosen ?? listed?.filter((s) => s.ok).map((s) => s.name),
    suggestions: usesSources
      ? (suggestions.data?.suggestions ?? [])
      : (chosenAssistant?.examples ?? []).map((text) => ({ text })),
    usesSources,
    broken,
    failed: all.find((l) => l.error !== undefined && !l.loading && !(l === suggestions && broken.length > 0)),
    loading: sources.loading,
    reload: () => all.forEach((l) => l.reload()),
  };
}

const introductions: Record<string, { heading: string; below: string; placeholder: string }> = {
  analyst: {
    heading: "What do you want to know?",
    below: "Every number in the answer has a footnote: its query and its cell.",
    placeholder: "Ask about your data",
  },
  explore: {
    heading: "What do you want to know?",
    below: "Ask about files on your computer. Their rows stay in this browser.",
    placeholder: "Ask about your files",
  },
  coder: {
    heading: "What should the coder do?",
    below: "It works with files in a folder of its own, and asks before it changes anything.",
    placeholder: "Describe a task",
  },
};

/** Returns questions about the open files or, without any, about the sample. */
function aboutFiles(files: readonly LocalFile[]): Suggestion[] {
  const texts = files.length ? examples(files.flatMap((f) => f.tables)) : sampleQuestions;
  return texts.map((text) => ({ text }));
}

/** The start page, for a new question. */
export function Home({ session }: { session: Session }) {
  const choice = useChoice();
  const { usesSources, broken, failed, reload, ...offers } = useStartData(choice);
  const away = useAway();
  const files = useLocal().files;
  const explores = choice.assistant === "explore";
  const words = introductions[choice.assistant ?? ""] ?? introductions.analyst!;
  useEffect(() => {
    if (explores) void restore().then(() => local().files.length === 0 && forgetClosed());
  }, [explores]);
  const ask = async (text: string, context?: string) => {
    if (explores) {
      if (local().files.length === 0 && sampleQuestions.includes(text)) await addFiles([sampleFile()]);
      await tables();
      context = [schemaText(local().files), context].filter(Boolean).join("\n");
    }
    try {
      const question = {
        text,
        ...choice,
        sources: usesSources ? choice.sources : undefined,
        ...(context ? { context } : {}),
      };
      await startConversation(question, (conversation) => {
        if (explores) schemaSent(conversation, schemaText(local().files));
        go({ conversation });
      });
    } catch (err) {
      invalidate("sources"); // the chosen one may have been deleted
      throw err;
    }
    void refresh();
  };
  return (
    <div className="scroll min-h-0 flex-1">
      <div className="relative mx-auto w-full max-w-thread px-5 pt-[14dvh] pb-8">
        {away && <AwayNotice />}
        <h1 className="font-serif text-2xl font-medium tracking-tight text-balance">{words.heading}</h1>
        <p className="mt-1 mb-6 text-ink-soft">{words.below}</p>
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
          placeholder={words.placeholder}
          onSend={ask}
          off={away ? "the server can't be reached" : explores ? openingReason(files) : undefined}
          tables={explores ? mentionableTables(files) : undefined}
          sources={usesSources ? offers.readable : undefined}
          choice={{
            now: choice,
            set: setChoice,
            assistants: offers.assistants,
            sources: offers.sources,
          }}
          tools={
            <>
              {usesSources && <Browse />}
              <Attach session={session} onLocal={chooseLocal} onUploaded={chooseUpload} />
            </>
          }
        />
        {failed && !away && (
          <p role="alert" className="mt-4 flex items-baseline gap-3 text-sm text-bad">
            <span>{failed.error}</span>
            <TryAgain onClick={reload} />
          </p>
        )}
        <section aria-label="Questions to begin with" className="mt-6 min-h-68 sm:min-h-34">
          {explores && files.length === 0 && <NoFile />}
          <Suggestions all={explores ? aboutFiles(files) : offers.suggestions} onAsk={ask} />
          {broken.map((s) => (
            <p key={s.name} role="alert" className="mt-3 flex items-baseline gap-3 text-sm">
              <span className="min-w-0 flex-1 text-ink-soft">
                <span className="font-medium text-ink">{s.name}</span> cannot be read.{" "}
                <span className="text-bad">{s.error}</span>
              </span>
              <TryAgain onClick={reload} disabled={offers.loading || away} />
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

/** What to do while no file is open. */
function NoFile() {
  return (
    <div className="mb-4 flex flex-wrap items-center gap-x-3 gap-y-2 rounded-lg border border-dashed px-4 py-4 text-sm text-ink-soft">
      <p className="min-w-56 flex-1">
        Drop a CSV, TSV, Excel, Parquet or JSON file anywhere on this page, or try a question on a sample file.
      </p>
      <OpenFile className={chip} />
    </div>
  );
}

/** The button that shows or hides the tables of the sources. */
function Browse() {
  const shown = useRoute().view === "data";
  return (
    <button
      type="button"
      className={`${chip} shrink-0 border-transparent`}
      aria-pressed={shown}
      onClick={() => go({ view: shown ? undefined : "data" })}
    >
      <Icon name="table" small />
      <span className="max-sm:sr-only">Browse data</span>
    </button>
  );
}

/** The suggested questions. If one cannot be sent, the error appears below them. */
function Suggestions({ all, onAsk }: { all: Suggestion[]; onAsk: (text: string) => Promise<void> }) {
  const [error, setError] = useState("");
  return (
    <>
      <ul className="grid gap-x-6 sm:grid-cols-2">
        {all.slice(0, 6).map((s) => (
          <li key={s.text} className="border-b">
            <button
              type="button"
              title={s.reading}
              onClick={() => {
                setError("");
                onAsk(s.text).catch((err) => setError(errorMessage(err)));
              }}
              className="group flex min-h-11 w-full items-center gap-3 rounded-sm py-2 text-left text-sm text-ink-soft hover:text-ink"
            >
              <span className="flex-1">{s.text}</span>
              <Icon name="chevron" small className="text-ink-quiet group-hover:text-accent" />
            </button>
          </li>
        ))}
      </ul>
      {error && (
        <p role="alert" className="mt-2 text-sm text-bad">
          {error}
        </p>
      )}
    </>
  );
}

function TryAgain({ onClick, disabled }: { onClick: () => void; disabled?: boolean }) {
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

/** Says that the server is unreachable. Placed in the empty space above the heading, so that nothing moves. */
function AwayNotice() {
  return (
    <p role="status" className="absolute inset-x-5 top-4 flex items-center gap-2 text-sm text-ink-soft">
      <Icon name="spinner" small className="turning shrink-0" />
      <span>Offline: showing what was loaded earlier. Reconnecting.</span>
    </p>
  );
}
