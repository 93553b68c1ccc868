import type { Style } from "../style.ts";
import type { Progress } from "./progress.ts";
import type { RemoteParts } from "./remote-flags.ts";
import type { Terminal } from "../screen.ts";

/** What the commands of the inspector work with. */
export interface InspectorParts extends RemoteParts {
  /** How data may look: it has colours on a terminal that wants them. */
  readonly style: Style;
  /** The terminal that data goes to; null when it goes elsewhere. */
  readonly terminal: Terminal | null;
  /** Calls `use` with a bar on standard error, which is gone when it returns or throws; without a terminal there is none. */
  readonly withProgress: <Value>(label: string, use: (progress: Progress) => Promise<Value>) => Promise<Value>;
  /** Where servers of this user leave their entries. */
  readonly runtimeFolder: () => string;
}
