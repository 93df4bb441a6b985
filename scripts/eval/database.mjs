// @ts-check
/** Runs SQL on a file for the evaluation: reads `{ file, sql }` from stdin; prints the rows of a query, or runs a script. */

// @ts-expect-error -- The types are those of Node 20, which has no such module.
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';

const { file, sql } = JSON.parse(await text(process.stdin));
const database = new DatabaseSync(file);
if (/^select/i.test(sql)) {
  console.log(JSON.stringify(database.prepare(sql).all()));
} else {
  database.exec(sql);
}
database.close();
