/** All tasks, in the order in which they are done. */
import { DATA_TASKS } from './data.ts';
import { DATABASE_TASKS } from './database.ts';
import { EDIT_TASKS } from './edits.ts';
import { FILE_TASKS } from './files.ts';
import { GRAPH_TASKS } from './graph.ts';
import { REPOSITORY_TASKS } from './repositories.ts';
import { SHOP_TASKS } from './shop.ts';
import type { EvalTask } from './task.ts';

export const EVAL_TASKS: readonly EvalTask[] = [
  ...FILE_TASKS,
  ...EDIT_TASKS,
  ...DATA_TASKS,
  ...DATABASE_TASKS,
  ...REPOSITORY_TASKS,
  ...GRAPH_TASKS,
  ...SHOP_TASKS,
];
