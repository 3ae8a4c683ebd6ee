// The chart as a picture, with what is drawn on it and what it is.
import { fileName, save } from "../lib/download";
import { color } from "../lib/theme";
import { whenWords } from "./plot";
import type { SymbolInfo, Timeframe } from "./types";
import type { Parts } from "./useBoard";

const head = 34;
const foot = 22;

/** Draws it and lets the browser save it. */
export async function picture({ plot, feed }: Parts, info: SymbolInfo, timeframe: Timeframe): Promise<void> {
  const shot = plot.chart.takeScreenshot(true, false);
  const scale = shot.width / plot.el.clientWidth;
  const out = document.createElement("canvas");
  out.width = shot.width;
  out.height = shot.height + (head + foot) * scale;
  const c = out.getContext("2d");
  if (!c) return;
  c.fillStyle = color("--color-surface");
  c.fillRect(0, 0, out.width, out.height);
  c.drawImage(shot, 0, head * scale);
  c.scale(scale, scale);
  const font = getComputedStyle(document.body).fontFamily;
  const last = plot.bars.at(plot.bars.length - 1);
  const height = out.height / scale;
  c.textBaseline = "middle";
  c.fillStyle = color("--color-ink");
  c.font = `600 ${15}px ${font}`;
  c.fillText(`${info.name || info.symbol} · ${timeframe}`, 12, head / 2 + 1);
  c.fillStyle = color("--color-ink-quiet");
  c.font = `${12}px ${font}`;
  const facts = [last ? `${last.close.toFixed(info.digits)} at ${whenWords(last.time, timeframe)} UTC` : "", feed.state.get().synthetic || info.synthetic ? "synthetic data" : ""];
  c.textAlign = "right";
  c.fillText(facts.filter(Boolean).join(" · "), out.width / scale - 12, head / 2 + 1);
  c.textAlign = "left";
  c.fillText("Footnote · Charts by TradingView", 12, height - foot / 2);
  const blob = await new Promise<Blob | null>((resolve) => out.toBlob(resolve, "image/png"));
  if (blob) save(blob, fileName(`${info.symbol} ${timeframe}`, "png"));
}
