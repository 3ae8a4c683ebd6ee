// Our own icons: 20 × 20, one stroke, drawn in the colour of the text.

const paths = {
  plus: "M10 4v12M4 10h12",
  send: "M10 16V4.500M5 9l5-5 5 5",
  stop: "M6 6h8v8H6z",
  search: "M9 14.500a5.500 5.500 0 1 0 0-11 5.500 5.500 0 0 0 0 11ZM13 13l4 4",
  menu: "M3 5.500h14M3 10h14M3 14.500h14",
  panel: "M3.500 4.500h13v11h-13zM8 4.500v11",
  close: "M5 5l10 10M15 5 5 15",
  chevron: "M7.500 5l5 5-5 5",
  down: "M5 7.500l5 5 5-5",
  dots: "M4.500 10h.01M10 10h.01M15.500 10h.01",
  database:
    "M4 5.500c0-1.400 2.700-2.500 6-2.500s6 1.100 6 2.500-2.700 2.500-6 2.500-6-1.100-6-2.500ZM4 5.500v9c0 1.400 2.700 2.500 6 2.500s6-1.100 6-2.500v-9M4 10c0 1.400 2.700 2.500 6 2.500s6-1.100 6-2.500",
  chart: "M3.500 16.500h13M6 13.500v-4M10 13.500v-8M14 13.500v-6",
  layout: "M3.500 5h13M7 8.300h9.500M7 11.700h6M3.500 15h9",
  line: "M3 16.500h14M3.500 13l4-4.500 3 2.500 6-7",
  area: "M3 16.500h14V7l-4.500 3L8 6 3 11ZM3 16.500V11",
  points: "M3.500 3.500v13h13M7.500 12.500v.01M9.500 8.500v.01M13 10.500v.01M14.500 5.500v.01",
  pie: "M10 3v7h7a7 7 0 1 1-7-7ZM13 3.700A7 7 0 0 1 16.300 7H13Z",
  table: "M3.500 4.500h13v11h-13zM3.500 8h13M3.500 11.750h13M8.500 8v7.500",
  code: "M7 6l-4 4 4 4M13 6l4 4-4 4",
  trace: "M5 4v12M5 6h6M5 10h10M5 14h7",
  file: "M5.500 3h6l3 3v11h-9zM11.500 3v3h3",
  folder: "M3 5.500h5l1.500 2H17v8H3z",
  check: "M4.500 10.500l3.500 3.500 7.500-8",
  alert: "M10 3.500l7.500 13h-15zM10 8.500v3.500M10 14.250v.01",
  copy: "M7 7V4h9v9h-3M4 7h9v9H4z",
  up: "M6.500 9v7H4V9zM6.500 9.500 9.500 4c1.200 0 1.800.8 1.600 2l-.5 2.500h4.200c.9 0 1.400.7 1.200 1.500l-1.200 4.800c-.2.7-.7 1.200-1.500 1.200H6.500",
  retry: "M15.500 6.500A6.500 6.500 0 1 0 16.500 11M16 3v4h-4",
  edit: "M4 16l.8-3.200L13 4.500l2.500 2.500-8.300 8.200z",
  trash: "M4.500 6h11M8 6V4h4v2M6 6l.7 10.500h6.600L14 6",
  link: "M8.500 11.500a3 3 0 0 0 4.200 0l2.600-2.600a3 3 0 0 0-4.200-4.200l-1 1M11.500 8.500a3 3 0 0 0-4.200 0l-2.600 2.600a3 3 0 0 0 4.200 4.200l1-1",
  download: "M10 3.500v9M6 9l4 4 4-4M4 16.500h12",
  settings: "M3 6h7M14 6h3M3 14h3M10 14h7M12 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4ZM8 16a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
  sun: "M10 13.500a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7ZM10 2v1.500M10 16.500V18M2 10h1.500M16.500 10H18M4.300 4.300l1.100 1.100M14.600 14.600l1.100 1.100M4.300 15.700l1.100-1.100M14.600 5.400l1.100-1.100",
  spinner: "M10 3a7 7 0 1 1-7 7",
  key: "M12.500 11a4 4 0 1 0-3.800-2.700L3 14v3h3v-2h2v-2l1.500-1.500a4 4 0 0 0 3-.5ZM13 7h.01",
  thought:
    "M10 3.500c-3.600 0-6.500 2.300-6.500 5.200 0 1.700 1 3.200 2.600 4.100L5.500 16l3.100-2.200c.5.1.9.1 1.400.1 3.600 0 6.500-2.300 6.500-5.200S13.600 3.500 10 3.500Z",
  export: "M10 12.500v-9M6.500 7 10 3.500 13.500 7M4 11.500v5h12v-5",
} as const;

export type IconName = keyof typeof paths;

/** An icon. Screen readers ignore it, so the element around it needs a name. */
export function Icon({ name, small, className = "" }: { name: IconName; small?: boolean; className?: string }) {
  const dotted = name === "dots" || name === "points";
  return (
    <svg
      viewBox="0 0 20 20"
      className={`${small ? "size-4" : "size-5"} shrink-0 ${className}`}
      fill={name === "stop" ? "currentColor" : "none"}
      stroke="currentColor"
      strokeWidth={name === "dots" ? 2.4 : dotted ? 1.8 : 1.5}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={paths[name]} />
    </svg>
  );
}

/** Footnote's logo. */
export function Logo({ className = "" }: { className?: string }) {
  return (
    <svg
      viewBox="0 0 32 32"
      className={`size-6 shrink-0 ${className}`}
      aria-hidden="true"
      focusable="false"
      fill="none"
    >
      <path d="M8 26V7h13M8 16h10" stroke="currentColor" strokeWidth="3" strokeLinecap="round" strokeLinejoin="round" />
      <circle cx="25" cy="7.500" r="3" className="fill-accent" />
    </svg>
  );
}
