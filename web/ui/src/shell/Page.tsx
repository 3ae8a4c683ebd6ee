// The bar above the start page, a conversation or any other page.
import type { ReactNode } from "react";
import { IconButton } from "../ui/Button";
import { HomeLink } from "../ui/HomeLink";

export interface HeaderProps {
  list: boolean;
  showList: () => void;
  /** What else the bar has; it leaves the link home less room. */
  children?: ReactNode;
}

export function Header({ list, showList, children }: HeaderProps) {
  return (
    <header className="flex h-(--header) shrink-0 items-center gap-1 px-3 print:[&>:not(h1)]:hidden">
      {!list && (
        <>
          <IconButton icon="menu" label="Show the conversations" onClick={showList} />
          <HomeLink short={children !== undefined} />
        </>
      )}
      {children}
    </header>
  );
}

/** A page without a right pane. */
export function Page({ children, list, showList }: Omit<HeaderProps, "children"> & { children: ReactNode }) {
  return (
    <main id="content" tabIndex={-1} className="flex min-w-0 flex-1 flex-col">
      <Header list={list} showList={showList} />
      {children}
    </main>
  );
}
