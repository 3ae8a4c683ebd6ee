import { Suspense, useLayoutEffect, useRef, useState, type RefObject } from "react";
import { lazyComponent } from "../lib/lazy";
import { capital, resultName } from "../lib/format";
import { go } from "../lib/router";
import { mainResult, type ShownResult, type Turn } from "../log/conversation";
import type { ChartSpec } from "../log/events";
import { useLog, type Log } from "../log/store";
import { Boundary } from "../ui/Boundary";
import { IconButton } from "../ui/Button";

const Suggested = lazyComponent(() => import("../panes/chart/Suggested"));
const InlineChart = lazyComponent(() => import("../panes/chart/InlineChart"));

const height = 240; // pixels
const nearMargin = "100%"; // distance from the view, in its height, at which charts begin to load

/** The charts that the tools of a turn drew, or else that of its main result, if its columns suggest one. */
export function AnswerCharts({ turn, log }: { turn: Turn; log: Log }) {
  const results = useLog(log, (c) => c.results);
  const onChart = useLog(log, (c) => c.where !== undefined); // which has no pane for results
  const specs = turn.parts.flatMap((p) => (p.kind === "tool" && p.state === "done" && p.chart ? [p.chart] : []));
  const newest = new Map(specs.map((s) => [s.result, s]));
  if (!newest.size && turn.answer && !onChart) {
    const result = results[mainResult(log.conversation(), turn) ?? ""];
    if (!result || result.row_count < 2 || result.turn !== turn.seq) return null;
    return <SuggestedChart conversation={log.id} result={result} question={turn.text} />;
  }
  return [...newest.values()].map((spec) => {
    const result = results[spec.result];
    // A single row is a number, which the text has.
    return result && result.row_count > 1 && spec.type !== "table" ? (
      <AnswerChart key={spec.result} conversation={log.id} result={result} spec={spec} question={turn.text} />
    ) : null;
  });
}

interface Props {
  conversation: string;
  result: ShownResult;
  spec?: ChartSpec;
  question: string; // the title of a chart without one
}

/** Reports whether an element is or was near the view. Undefined until that is known. */
function useNear(box: RefObject<HTMLElement | null>): boolean | undefined {
  const [near, setNear] = useState<boolean>();
  useLayoutEffect(() => {
    const el = box.current!;
    const visible = new IntersectionObserver(
      ([e]) => {
        setNear(e?.isIntersecting);
        if (e?.isIntersecting) visible.disconnect();
      },
      { root: el.closest(".scroll"), rootMargin: nearMargin },
    );
    visible.observe(el);
    return () => visible.disconnect();
  }, [box]);
  return near;
}

/** The chart of a result for which none was asked. Its rows decide whether there is one. */
function SuggestedChart(p: Props) {
  const box = useRef<HTMLDivElement>(null);
  const near = useNear(box);
  const settling = <span hidden data-settling="" />;
  return (
    <div ref={box}>
      {near === undefined && settling}
      {near && (
        <Boundary instead={null}>
          <Suspense fallback={settling}>
            <Suggested conversation={p.conversation} result={p.result}>
              <AnswerChart {...p} />
            </Suggested>
          </Suspense>
        </Boundary>
      )}
    </div>
  );
}

/** A chart in an answer. Its place has the height of the chart from the start, so that the text does not move. */
function AnswerChart({ conversation, result, spec, question }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0); // 0: not near the view yet
  const near = useNear(box);
  useLayoutEffect(() => {
    if (!near) return;
    const el = box.current!;
    const resize = new ResizeObserver(() => setWidth(Math.floor(el.clientWidth)));
    resize.observe(el);
    return () => resize.disconnect();
  }, [near]);
  const title = spec?.title || question || capital(resultName(result.id));
  const reserved = <div className="rounded-md bg-sunken" style={{ height }} aria-hidden="true" />;
  return (
    <section
      aria-label={`Chart: ${title}`}
      className={`mt-4 rounded-lg border bg-surface px-3 pt-2 pb-3 ${width ? "" : "print:hidden"}`}
    >
      <div className="flex items-center gap-2">
        <h3 className="min-w-0 flex-1 truncate font-serif font-semibold" dir="auto">
          {title}
        </h3>
        <IconButton
          icon="panel"
          small
          label={`Open the chart ${title}`}
          className="-scale-x-100 print:hidden"
          onClick={() => go({ conversation, result: result.id })}
        />
      </div>
      <div ref={box} className="relative" style={{ minHeight: height }}>
        {width > 0 ? (
          <Boundary>
            <Suspense fallback={reserved}>
              <InlineChart conversation={conversation} result={result} spec={spec} width={width} height={height} />
            </Suspense>
          </Boundary>
        ) : (
          reserved
        )}
      </div>
    </section>
  );
}
