// The icons of the chart page. They look like those of ui/Icon, but are loaded with the page.
const paths = {
  cursor: "M5 3.500l10.500 6-4.700 1.200-2.300 4.800z",
  trendline:
    "M4.500 15.500l11-11M3 17a1.500 1.500 0 1 0 3 0 1.500 1.500 0 0 0-3 0M14 3a1.500 1.500 0 1 0 3 0 1.500 1.500 0 0 0-3 0",
  ray: "M4.600 14.900L17 5M2.500 16a1.500 1.500 0 1 0 3 0 1.500 1.500 0 0 0-3 0M9 11.500a1.500 1.500 0 1 0 3 0 1.500 1.500 0 0 0-3 0",
  arrow: "M4 16L16 4M9.500 4H16v6.500",
  extended:
    "M2 17.500L18 2.500M6 12.500a1.500 1.500 0 1 0 3 0 1.500 1.500 0 0 0-3 0M11 7.500a1.500 1.500 0 1 0 3 0 1.500 1.500 0 0 0-3 0",
  horizontal_line: "M2 10h6.500M11.500 10H18M8.500 10a1.500 1.500 0 1 0 3 0 1.500 1.500 0 0 0-3 0",
  horizontal_ray: "M6 10h12M3 10a1.500 1.500 0 1 0 3 0 1.500 1.500 0 0 0-3 0",
  vertical_line: "M10 2v6.500M10 11.500V18M8.500 10a1.500 1.500 0 1 0 3 0 1.500 1.500 0 0 0-3 0",
  fibonacci: "M3 4h14M3 8.500h14M3 12h14M3 16h14M5 15.500L15 4.500",
  rectangle:
    "M4 5.500h12v9H4zM2.500 5.500a1.500 1.500 0 1 0 3 0 1.500 1.500 0 0 0-3 0M14.500 14.500a1.500 1.500 0 1 0 3 0 1.500 1.500 0 0 0-3 0",
  circle: "M10 16.500a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13ZM10 10h.01",
  text: "M4.500 6V4h11v2M10 4v12M8 16h4",
  marker: "M10 3l5.500 6H12.500v7.500h-5V9H4.500z",
  long_position: "M3.500 3.500h13v7h-13zM3.500 10.500h13v5.500h-13zM10 8.800V5.500M8.300 7L10 5.300 11.700 7",
  short_position: "M3.500 4h13v5.500h-13zM3.500 9.500h13v7h-13zM10 11.200v3.300M8.300 13l1.700 1.700L11.700 13",
  magnet: "M5 4v6a5 5 0 0 0 10 0V4h-3v6a2 2 0 0 1-4 0V4zM5 7h3M12 7h3",
  lock: "M5.500 9h9v7.500h-9zM7 9V6.500a3 3 0 0 1 6 0V9",
  unlock: "M5.500 9h9v7.500h-9zM7 9V6.500a3 3 0 0 1 5.800-1",
  eye: "M2.500 10S5 5 10 5s7.500 5 7.500 5-2.500 5-7.500 5-7.500-5-7.500-5ZM10 12.200a2.200 2.200 0 1 0 0-4.400 2.200 2.200 0 0 0 0 4.400Z",
  eyeOff:
    "M3.500 3.500l13 13M8 5.300A7.600 7.600 0 0 1 10 5c5 0 7.500 5 7.500 5a12 12 0 0 1-2.100 2.700M5 6.700A12 12 0 0 0 2.500 10S5 15 10 15a7.500 7.500 0 0 0 3.200-.7M8.500 8.400a2.200 2.200 0 0 0 3.100 3.100",
  undo: "M4 8h8a4 4 0 0 1 0 8H8M7 4.500L3.500 8 7 11.500",
  redo: "M16 8H8a4 4 0 0 0 0 8h4M13 4.500L16.500 8 13 11.500",
  candles: "M6 3v2.500M6 12.500V16M4 5.500h4v7H4zM14 4v3M14 13v3.500M12 7h4v6h-4z",
  talk: "M3.500 4.500h13v9h-7l-3.500 3v-3h-2.500z",
  trail: "M10 5v5l3 2M3.500 10a6.500 6.500 0 1 0 2-4.700L3.500 7M3.500 3.500V7H7",
  layers: "M10 3.500L17 7.500 10 11.500 3 7.500zM3.500 11L10 14.800 16.500 11",
  camera: "M3 6.500h3l1.500-2h5l1.500 2h3v9.500H3zM10 13.500a2.800 2.800 0 1 0 0-5.500 2.800 2.800 0 0 0 0 5.500Z",
  toEnd: "M5 5l5 5-5 5M14.500 4.500v11",
  calendar: "M4 5h12v11.500H4zM4 8.500h12M7 3v3M13 3v3M10 11v3M8.500 12.500h3",
  human: "M10 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM4 16.500c.5-3 3-4.500 6-4.500s5.500 1.500 6 4.500",
  agent: "M10 3v2M5 5.500h10v8H5zM7.800 9v1M12.200 9v1M8 16.500h4",
} as const;

export type Glyph = keyof typeof paths;

/** Returns an icon for a menu item. */
export const inMenu = (name: Glyph) => <ChartIcon name={name} small className="mt-0.5" />;

export function ChartIcon({ name, small, className = "" }: { name: Glyph; small?: boolean; className?: string }) {
  return (
    <svg
      viewBox="0 0 20 20"
      className={`${small ? "size-4" : "size-5"} shrink-0 ${className}`}
      fill="none"
      stroke="currentColor"
      strokeWidth={1.4}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={paths[name]} />
    </svg>
  );
}
