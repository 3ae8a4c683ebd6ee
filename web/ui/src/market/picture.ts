// Saves the chart with its drawings as a picture, with a heading.
import { fileName, save } from "../lib/download";
import { color } from "../lib/theme";
import { whenWords } from "./plot";
import type { SymbolInfo, Timeframe } from "./types";
import type { Parts } from "./useBoard";

// In pixels.
const line = 34;
const foot = 22;
const side = 12;

/** Draws the picture and saves it. */
export async function picture({ plot, feed }: Parts, info: SymbolInfo, timeframe: Timeframe): Promise<void> {
  const shot = plot.chart.takeScreenshot(true, false);
  const wide = plot.el.clientWidth;
  const scale = shot.width / wide;
  const out = document.createElement("canvas");
  const c = out.getContext("2d");
  if (!c) return;
  const font = getComputedStyle(document.body).fontFamily;
  const [strong, quiet] = [`600 ${15}px ${font}`, `${12}px ${font}`];
  const last = plot.bars.at(plot.bars.length - 1);
  const name = `${info.name || info.symbol} · ${timeframe}`;
  const facts = [
    last ? `${last.close.toFixed(info.digits)} at ${whenWords(last.time, timeframe)} UTC` : "",
    feed.state.get().synthetic || info.synthetic ? "synthetic data" : "",
  ]
    .filter(Boolean)
    .join(" · ");
  const width = (text: string, font: string) => ((c.font = font), c.measureText(text).width);
  const beside = side + width(name, strong) + side + width(facts, quiet) + side <= wide;
  const head = beside ? line : 2 * line - 12; // the facts are beside or below the name
  out.width = shot.width;
  out.height = shot.height + (head + foot) * scale;
  c.fillStyle = color("--color-surface");
  c.fillRect(0, 0, out.width, out.height);
  c.drawImage(shot, 0, head * scale);
  c.scale(scale, scale);
  const height = out.height / scale;
  c.textBaseline = "middle";
  c.fillStyle = color("--color-ink");
  c.font = strong;
  c.fillText(name, side, line / 2 + 1);
  c.fillStyle = color("--color-ink-quiet");
  c.font = quiet;
  c.textAlign = beside ? "right" : "left";
  c.fillText(facts, beside ? wide - side : side, head - line / 2 + 1);
  c.textAlign = "left";
  c.fillText("Footnote · Charts by TradingView", side, height - foot / 2);
  const blob = await new Promise<Blob | null>((resolve) => out.toBlob(resolve, "image/png"));
  if (blob) save(blob, fileName(`${info.symbol} ${timeframe}`, "png"));
}
