/** The thread in which a description is compiled. The build makes a program of its own of it. */
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../../core/base/errors.ts';
import type { CompiledApi } from './compiled-api.ts';
import { linesOf } from './compiled-lines.ts';
import { compileGraphql } from './graphql/compile.ts';
import { compileOpenApi } from './openapi/compile-openapi.ts';
import { parseDescription } from './openapi/parse-description.ts';

export type DescriptionKind = 'openapi' | 'graphql';

export interface CompileTask {
  readonly text: string;
  readonly kind: DescriptionKind;
}

/** `lines`: see `compiled-lines.ts`. */
export type CompileReply =
  | { readonly ok: true; readonly lines: readonly string[] }
  | { readonly ok: false; readonly reason: string };

const COMPILERS: Readonly<Record<DescriptionKind, (text: string) => CompiledApi>> = {
  openapi: (text) => compileOpenApi(parseDescription(text)),
  graphql: compileGraphql,
};

function reply({ text, kind }: CompileTask): CompileReply {
  try {
    return { ok: true, lines: linesOf(COMPILERS[kind](text)) };
  } catch (error) {
    return { ok: false, reason: messageOf(error) };
  }
}

parentPort?.postMessage(reply(workerData as CompileTask), []);
