// Optional modules of the app, such as charts and markets. A module is a folder whose index.ts calls register; main.tsx
// imports that file, and nothing else may import from the folder. Delete both, and the app works without the module.
import type { ComponentType } from "react";
import type { Session } from "../api/client";
import type { IconName } from "../ui/Icon";
import type { Route } from "./router";

export interface Module {
  /** The first segment of the module's addresses: "chart" for /chart and everything below it. */
  path: string;
  /** Reports whether the server offers the module. If it does not, nothing links to the page. */
  offered: (session: Session) => boolean;
  /** The link in the sidebar. */
  link: { label: string; icon: IconName };
  /** The link at the top of the page with which keyboard users skip the menus. */
  skip: { href: string; label: string };
  /** The assistant whose conversations are held on the page instead of the thread. */
  assistant?: string;
  Page: ComponentType<{ at: Route }>;
}

const registered: Module[] = [];

/** Adds a module to the app. Call it before the app is first rendered. */
export function register(module: Module): void {
  registered.push(module);
}

/** Returns the modules that the server offers. */
export function offeredModules(session: Session): Module[] {
  return registered.filter((m) => m.offered(session));
}

/** Returns the module whose page an address shows. */
export function moduleAt(at: Route): Module | undefined {
  return registered.find((m) => m.path === at.page?.[0]);
}

/** Returns the address of a module's page if the assistant answers there. */
export function pageOf(assistant: string | undefined): Route | undefined {
  const module = registered.find((m) => m.assistant !== undefined && m.assistant === assistant);
  return module && { page: [module.path] };
}
