import { Dialog } from "../ui/Dialog";
import { KeyTable } from "../ui/Keys";
import { chartKeys, focusKeys } from "./keys";

/** The list of the chart page's keyboard shortcuts. */
export function KeyList({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keyboard" onClose={onClose}>
      <KeyTable of={chartKeys} />
      <h3 className="mt-5 mb-2 text-sm font-semibold">With the focus on the chart</h3>
      <KeyTable of={focusKeys} />
    </Dialog>
  );
}
