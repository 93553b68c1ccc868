import { messageOf } from "../../core/index.ts";
import { readConfig, type AuthOptions } from "../config.ts";

/** What reloading works with. */
export interface ReloadParts {
  /** Path of the config. */
  readonly file: string;
  readonly gateway: { reload(auth: AuthOptions | undefined): number };
  readonly note: (line: string) => void;
}

/**
 * Reads who may connect from the config again, each time the returned function is called, in order. What is wrong in it is
 * noted, and changes nothing; nor does what else stands there.
 */
export function authReloader({ file, gateway, note }: ReloadParts): () => void {
  let last = Promise.resolve();
  const reload = async (): Promise<void> => {
    try {
      const { auth } = await readConfig(file);
      const ended = gateway.reload(auth);
      note(`${file} was read again: ${ended} connections ended because their credential has gone`);
    } catch (fault) {
      note(`${file} was read again, and nothing has changed: ${messageOf(fault)}`);
    }
  };
  return () => {
    last = last.then(reload);
  };
}
