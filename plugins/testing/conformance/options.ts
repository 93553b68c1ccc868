import type { PluginEntry } from "../../entry.ts";
import type { Isolation } from "../../plugin-control.ts";
import type { TestedPlugin, TestHost } from "../test-host.ts";

/** One thing that every plugin must survive. It is for any runner of tests: `it(check.name, check.run)`. */
export interface ConformanceCheck {
  readonly name: string;
  /** Where the plugin runs while it is checked. */
  readonly isolation: Isolation;
  /** @throws RoomtapError `check_failed`: what was expected, what was found, what to do */
  readonly run: () => Promise<void>;
}

/** The plugin, and what the checks have to know of it. */
export type ConformanceOptions = TestedPlugin & ConformanceSettings;

/** What the checks have to know of a plugin beside how it is loaded. */
export interface ConformanceSettings {
  /** Plugins that it depends on. */
  readonly others?: readonly PluginEntry[] | undefined;
  /**
   * What the plugin has made of the events: the result of a command, what it stores. With it the checks hold that an event
   * that comes twice, too late or of an earlier attempt changes nothing, and that two members are never taken for one; it must
   * not depend on the order in which two turns that run side by side are told. Without it they hold that the plugin goes on.
   */
  readonly outcome?: ((host: TestHost) => unknown) | undefined;
  /** Whether it keeps texts of events on purpose, as its `disclosure` should say. Default false. */
  readonly storesTexts?: boolean | undefined;
  /** Further literals of its config that it may neither store nor tell; those under names such as `token` are known. */
  readonly secrets?: readonly string[] | undefined;
}

/** One check, whatever it runs on. */
export interface CheckSpec {
  readonly name: string;
  readonly run: (trial: Trial) => Promise<void>;
}

/** The plugin in one isolation, as a check works with it. */
export interface Trial {
  readonly options: ConformanceOptions;
  readonly isolation: Isolation;
}
