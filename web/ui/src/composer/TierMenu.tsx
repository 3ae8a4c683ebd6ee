import type { Assistant } from "../api/client";
import { capital } from "../lib/format";
import type { Log } from "../log/store";
import { chooseTier, useTier } from "../thread/ask";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Menu";

/** Returns what a tier's tokens count, or undefined if they count once. */
export function weightHint(multiplier: number): string | undefined {
  return multiplier > 1 ? `Each token counts ${multiplier} times` : undefined;
}

/** The tier of a conversation, and the menu to choose another one for the next question and those after it. */
export function TierMenu({ log, assistant }: { log: Log; assistant: Assistant | undefined }) {
  const tier = useTier(log);
  const tiers = assistant?.tiers ?? [];
  if (tiers.length < 2) return null;
  return (
    <Menu
      label="Model"
      side="above"
      groups={[
        {
          title: "Model for the next question",
          items: tiers.map((t) => ({
            label: capital(t.name),
            checked: t.name === tier,
            hint: [t.model, weightHint(t.multiplier)].filter(Boolean).join(". "),
            onSelect: () => chooseTier(log, t.name),
          })),
        },
      ]}
      button={(b) => (
        <button
          type="button"
          {...b}
          aria-label={`Model: ${tier ?? "default"}`}
          className="inline-flex h-7 shrink-0 items-center gap-1 rounded-full border px-2.5 text-xs text-ink-soft hover:bg-hover hover:text-ink"
        >
          {capital(tier ?? "default")}
          <Icon name="down" small />
        </button>
      )}
    />
  );
}
