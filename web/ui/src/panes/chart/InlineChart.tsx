// The chart of a result within an answer.
import { Hidden, hiddenRows } from "../Hidden";
import type { InlineChartProps } from "../slots";
import { Shown } from "./Picture";
import { useDrawing } from "./useDrawing";
import { useType } from "./useType";

export default function InlineChart({ height, ...place }: InlineChartProps) {
  const [type] = useType(place.conversation, place.result.id);
  const { data, error, drawing, chart } = useDrawing({ ...place, type, height });
  const hidden = data ? hiddenRows(place.result.source, data) : 0;
  if (data && hidden > 0) return <Hidden rows={hidden} of={data.row_count} />;
  return (
    <Shown error={error} chart={chart} data={data} reserved={height}>
      {drawing && drawing.kind !== "chart" && (
        <p className="text-sm text-ink-quiet">{drawing.kind === "none" ? drawing.why : "These rows are not drawn."}</p>
      )}
    </Shown>
  );
}
