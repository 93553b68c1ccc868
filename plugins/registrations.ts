import { limits, RoomtapError, type ErrorCode, type Undo } from "../core/index.ts";

/** What a plugin may register only so often. */
const caps = {
  handlers: { most: limits.maxHandlersPerPlugin, code: "too_many_consumers" },
  routes: { most: limits.maxRoutesPerPlugin, code: "too_many_routes" },
  commands: { most: limits.maxCommandsPerPlugin, code: "too_many_commands" },
} as const satisfies Record<string, { readonly most: number; readonly code: ErrorCode }>;

type Capped = keyof typeof caps;

interface Registration {
  readonly what: Capped | null;
  readonly end: () => unknown;
}

/** All that one plugin registered, in order, so that it can be undone in reverse. */
export class Registrations {
  readonly #id: string;
  readonly #list = new Set<Registration>();

  constructor(id: string) {
    this.#id = id;
  }

  /**
   * Registers one more. Its undo frees its place.
   * @throws RoomtapError `too_many_consumers`, `too_many_routes`, `too_many_commands`, and what `register` throws
   */
  add(what: Capped, register: () => Undo): Undo {
    const { most, code } = caps[what];
    if ([...this.#list].filter((each) => each.what === what).length >= most) {
      throw new RoomtapError(code, `plugin ${this.#id} has ${most} ${what}, and may have no more`);
    }
    const registration = { what, end: register() };
    this.#list.add(registration);
    return () => {
      if (this.#list.delete(registration)) registration.end();
    };
  }

  /** Has `undo` called when its turn comes. */
  defer(undo: () => unknown): void {
    this.#list.add({ what: null, end: undo });
  }

  /** Takes out the undo of what was registered last; undefined when nothing is left. */
  takeLast(): (() => unknown) | undefined {
    const last = [...this.#list].at(-1);
    if (last === undefined) return undefined;
    this.#list.delete(last);
    return last.end;
  }
}
