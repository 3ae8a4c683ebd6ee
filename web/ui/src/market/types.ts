// The server's types for markets and drawings.

export const timeframes = ["1m", "5m", "15m", "30m", "1h", "4h", "1D", "1W", "1M"] as const;
export type Timeframe = (typeof timeframes)[number];

export interface SymbolInfo {
  symbol: string;
  name: string;
  digits: number;
  from?: number | string;
  to?: number | string;
  timeframes: string[];
  synthetic?: boolean;
}

/** Bars by column, oldest first. Times are Unix seconds. */
export interface Columns {
  time: number[];
  open: number[];
  high: number[];
  low: number[];
  close: number[];
  volume: number[];
}

export interface Bar {
  time: number;
  open: number;
  high: number;
  low: number;
  close: number;
  volume: number;
}

export interface MarketEvent {
  id: string;
  time: number | string;
  currency: string;
  title: string;
  impact: "low" | "medium" | "high";
  actual?: string | number | null;
  forecast?: string | number | null;
  previous?: string | number | null;
}

export interface Price {
  symbol: string;
  bid: number;
  ask: number;
  time: number | string;
  age_seconds: number;
  synthetic?: boolean;
}

export interface PriceDown {
  down: true;
  reason: string;
}

const drawingTypes = [
  "trendline",
  "horizontal_line",
  "horizontal_ray",
  "vertical_line",
  "fibonacci",
  "rectangle",
  "circle",
  "text",
  "marker",
  "long_position",
  "short_position",
] as const;
export type DrawingType = (typeof drawingTypes)[number];

export interface Anchor {
  time: number;
  price: number;
}

export type LineStyle = "solid" | "dashed" | "dotted";
export type Extend = "none" | "ray" | "arrow" | "extended";
export type MarkerType = "arrow_up" | "arrow_down" | "circle" | "square" | "diamond" | "flag";
export type Status = "signal" | "pending" | "open" | "closed";

export interface Drawing {
  id: string;
  type: DrawingType;
  symbol: string;
  timeframe?: string;
  anchors?: Anchor[];
  price?: number;
  extend?: Extend;
  levels?: number[];
  text?: string;
  label?: string;
  color?: string;
  lineStyle?: LineStyle;
  lineWidth?: number;
  fillColor?: string;
  markerType?: MarkerType;
  size?: number;
  entry?: number;
  takeProfit?: number;
  stopLoss?: number;
  riskReward?: number;
  status?: Status;
  notes?: string;
  tags?: string[];
  importance?: "low" | "medium" | "high";
  visibility?: "all" | string[];
  locked?: boolean;
  hidden?: boolean;
  version?: number;
  created?: { by: "agent" | "human"; at: string };
  changed?: { by: "agent" | "human"; at: string };
  placed?: string; // when it got its prices and times
}

/** One entry of the trail. */
export interface Change {
  version: number;
  at: string;
  by: "agent" | "human";
  user?: string;
  conversation?: string;
  run?: string;
  call?: string;
  drawing: string;
  action: "create" | "update" | "remove" | "undo" | "redo" | "import";
  reason?: string;
  changes?: Record<string, { from?: unknown; to?: unknown }>;
  before?: Drawing | null;
  after?: Drawing | null;
  step: number; // the version of the first change of the step; all changes of a step are undone together
  reverts?: number; // the step that an undo or redo applies to
}

/** Converts a time from the server to seconds. */
export function seconds(t: number | string | undefined): number {
  if (typeof t === "number") return t;
  return t ? Math.floor(Date.parse(t) / 1000) : NaN;
}
