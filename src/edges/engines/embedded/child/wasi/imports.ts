/**
 * The import object of the module: the whole boundary between the guest and JavaScript. Each function returns an error number.
 * The end of the program is the only exception that passes. Functions that the module imports but we lack return NOSYS.
 */
import { describeFunctions } from './describe-functions.ts';
import { ERRNO, ProgramExit, WasiError } from './errno.ts';
import { fileFunctions } from './file-functions.ts';
import type { ImportFunction, ImportTable, WasiMachine } from './machine.ts';
import { pathFunctions } from './path-functions.ts';
import { systemFunctions } from './system-functions.ts';

export const WASI_MODULE = 'wasi_snapshot_preview1';

/** All implemented functions, by name. */
export function wasiFunctions(machine: WasiMachine): ImportTable {
  return {
    ...systemFunctions(machine),
    ...fileFunctions(machine),
    ...describeFunctions(machine),
    ...pathFunctions(machine),
  };
}

type GuestFunction = (...args: never[]) => number;

/** The functions called `names`, each of which returns an error number instead of throwing. */
export function guardedImports(machine: WasiMachine, names: readonly string[]): Record<string, GuestFunction> {
  const functions = new Map(Object.entries(wasiFunctions(machine)));
  return Object.fromEntries(names.map((name) => [name, guard(functions.get(name) ?? notImplemented)]));
}

function notImplemented(): void {
  throw new WasiError(ERRNO.NOSYS);
}

function guard(function_: ImportFunction): GuestFunction {
  return (...args: never[]): number => {
    try {
      function_(...args);
      return ERRNO.SUCCESS;
    } catch (error) {
      if (error instanceof ProgramExit) {
        throw error;
      }
      return errnoOf(error);
    }
  };
}

function errnoOf(error: unknown): number {
  if (error instanceof WasiError) {
    return error.errno;
  }
  // A RangeError means that JavaScript is out of memory or stack. It fails the call, not the program.
  return error instanceof RangeError ? ERRNO.NOMEM : ERRNO.IO;
}
