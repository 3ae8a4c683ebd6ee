import { follow } from "../lib/router";
import { Logo } from "./Icon";

/** The logo, which leads to the start page. Every page has one. */
export function HomeLink({ short, onNavigate }: { short?: boolean; onNavigate?: () => void }) {
  return (
    <a
      href="/"
      onClick={(e) => follow(e, {}, onNavigate)}
      className={`flex shrink-0 items-center gap-2 rounded-md font-serif text-lg font-semibold ${short ? "p-1.5" : ""}`}
      aria-label="Footnote, new question"
      title="New question"
    >
      <Logo />
      {!short && "Footnote"}
    </a>
  );
}
