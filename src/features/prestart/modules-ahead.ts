/**
 * Which Python modules sandboxes import before a session needs them: those that the cells of this client have imported lately in
 * this folder, or named ones. What has been imported is said by sandboxes, so only modules of a fixed list count.
 */
import { z } from 'zod';
import type { Watcher } from '../../core/calls/events.ts';
import { MAX_MODULES_AHEAD, type PrestartMode } from '../../edges/settings/prestart.ts';
import { RecentRuns, type RecentRunsOptions } from './recent-runs.ts';

/**
 * Modules that take long to import and change nothing that other code can see. They are imported in this order: what others need
 * comes first, because a session waits for the one in progress.
 */
const SLOW_MODULES: readonly string[] = [
  'numpy',
  'yaml',
  'requests',
  'httpx',
  'bs4',
  'lxml.etree',
  'PIL.Image',
  'pydantic',
  'sympy',
  'networkx',
  'scipy',
  'scipy.stats',
  'scipy.optimize',
  'pyarrow',
  'pandas',
  'polars',
  'duckdb',
  'openpyxl',
  'docx',
  'pptx',
  'matplotlib',
  'matplotlib.pyplot',
  'sklearn',
  'sklearn.linear_model',
  'sklearn.model_selection',
  'sklearn.preprocessing',
  'sklearn.ensemble',
  'sklearn.metrics',
  'seaborn',
  'statsmodels.api',
  'plotly.express',
];

export interface ModulesAhead {
  /** Notes which modules cells import. */
  readonly watch: Watcher;
  /** What a sandbox that is started now should import. Never rejects. */
  modules(): Promise<readonly string[]>;
  /** Resolves when it is written which modules were used. */
  close(): Promise<void>;
}

export function createModulesAhead(mode: Exclude<PrestartMode, 'off'>, options: RecentRunsOptions): ModulesAhead {
  const runs = new RecentRuns('modules', z.string(), MAX_MODULES_AHEAD, options);
  /** The last used one first. */
  let used: readonly string[] = [];
  return {
    watch(event) {
      const imported = event.type === 'cell_ended' ? (event.outcome.imported ?? []) : [];
      const known = imported.filter((name) => SLOW_MODULES.includes(name));
      if (mode === 'recent' && known.length > 0) {
        used = [...new Set([...known.toReversed(), ...used])].slice(0, MAX_MODULES_AHEAD);
        runs.writeSoon(async () => used);
      }
    },
    async modules() {
      if (mode !== 'recent') {
        return mode;
      }
      const recent = [...new Set([...used, ...(await runs.items())])].slice(0, MAX_MODULES_AHEAD);
      return SLOW_MODULES.filter((name) => recent.includes(name));
    },
    close: () => runs.close(),
  };
}
