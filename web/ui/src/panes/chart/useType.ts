// The type of chart that the user chose for a result, which the pane and the chart in the answer share.
import { useEffect } from "react";
import { go, route, useRoute } from "../../lib/router";
import { Observable, useObservable } from "../../lib/observable";
import type { Type } from "./pick";

export const types = ["bar", "line", "area", "scatter", "pie", "histogram", "table"] as const satisfies readonly Type[];

// The chosen types. They last while the page is open, and that of the shown result is in the address.
const chosen = new Observable<Readonly<Record<string, Type>>>({});

export function useType(conversation: string, result: string) {
  const { view, at, result: shown = result } = useRoute();
  const key = `${conversation}.${result}`;
  const known = useObservable(chosen)[key];
  const inAddress = types.find((t) => t === at && shown === result && (view === undefined || view === "chart"));
  useEffect(() => {
    if (inAddress) chosen.set({ ...chosen.get(), [key]: inAddress });
  }, [key, inAddress]);
  const choose = (at: Type) => go({ ...route(), conversation, result, view: undefined, at }, "replace");
  return [inAddress ?? known, choose] as const;
}
