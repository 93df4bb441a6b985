/** The tool `run_python`: what its calls mean, and how answers are rendered. */

import type { ShownAnswer } from '../../core/base/cell.ts';
import type { Logger } from '../../core/base/log.ts';
import { useWhenThere } from '../../core/base/maybe-promise.ts';
import { type OutputMode, type RenderedAnswer, renderAnswer } from '../../core/render/render.ts';
import type { LazyBridge } from '../../core/session/lazy-bridge.ts';
import type { FrontTool } from './front-tool.ts';
import { showRunPython } from './tool-definition.ts';
import { CELL_VIEW_KEY } from './views.ts';

export interface RunPythonOptions {
  readonly bridge: LazyBridge;
  readonly outputMode: OutputMode;
  /** Limits output, value and error of one answer together. */
  readonly maxOutputChars: number;
  readonly defaultTimeoutSeconds: number;
  readonly maxTimeoutSeconds: number;
  readonly logger: Logger;
  /** See `CellRequest`. */
  readonly untilRoom?: ((request?: Request) => Promise<void> | undefined) | undefined;
  readonly observer?: CellObserver | undefined;
}

/** Learns whether cells can run. */
export interface CellObserver {
  /** A cell with valid arguments is about to run. */
  cellBegins(): void;
  cellEnded(): void;
  /** A cell did not run. */
  cellFailed(error: unknown): void;
}

/** The tool `run_python`. */
export function createRunPython(
  options: Pick<RunPythonOptions, 'outputMode' | 'maxOutputChars' | 'defaultTimeoutSeconds' | 'maxTimeoutSeconds'> &
    Parameters<typeof showRunPython>[0],
): FrontTool {
  return {
    ...showRunPython(options),
    call: (given) => ({
      kind: 'cell',
      cell: { given },
      render(answer) {
        const rendered = renderAnswer(answer, options.outputMode, options.maxOutputChars);
        return useWhenThere(rendered, (made) => withView(answer, made));
      },
    }),
  };
}

/** What the model reads is the same with a view. */
function withView({ view }: ShownAnswer, rendered: RenderedAnswer): RenderedAnswer {
  return view === undefined ? rendered : { ...rendered, _meta: { [CELL_VIEW_KEY]: view } };
}
