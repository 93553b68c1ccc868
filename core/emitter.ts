// mitt's default export does not type-check as callable under NodeNext, so its factory's type is restated here once.
import * as mittModule from "mitt";
import type { Emitter as MittEmitter, EventType } from "mitt";
import type { Undo } from "./clock.ts";

const mitt = (
  mittModule as unknown as { default: <Events extends Record<EventType, unknown>>() => MittEmitter<Events> }
).default;

/** Tells in-process listeners; each is isolated from the others. Not the bus itself: nothing here is queued. */
export interface Emitter<Events extends Record<string, unknown>> {
  /** Calls `listener` at each `name` until it is undone. Registered twice, it is called twice. */
  on<Name extends keyof Events & string>(name: Name, listener: (event: Events[Name]) => unknown): Undo;
  /** Calls the listeners in order of registration. A listener that throws or rejects is told to `onFault`. */
  emit<Name extends keyof Events & string>(name: Name, event: Events[Name]): void;
  /** Takes off all listeners. */
  clear(): void;
}

/**
 * An emitter without listeners.
 * @param onFault is told of what a listener threw or rejected with; it must not throw
 */
export function createEmitter<Events extends Record<string, unknown>>(
  onFault: (fault: unknown, name: string) => void,
): Emitter<Events> {
  const inner = mitt<Events>();
  return {
    on(name, listener) {
      // mitt calls listeners bare: a throw would skip the ones behind it, a rejection would go unhandled.
      const guarded = (event: Events[typeof name]): void => {
        try {
          const result = listener(event);
          if (result instanceof Promise) result.catch((fault: unknown) => onFault(fault, name));
        } catch (fault) {
          onFault(fault, name);
        }
      };
      inner.on(name, guarded);
      return () => inner.off(name, guarded);
    },
    emit: (name, event) => inner.emit(name, event),
    clear: () => inner.all.clear(),
  };
}
