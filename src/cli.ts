#!/usr/bin/env node
/** The file that Node runs. It is small, so that Node compiles the rest of the program with the help of its compile cache. */
import { useCompileCache } from './app/cli/compile-cache.ts';

useCompileCache();
const { runCommandLine } = await import('./main.ts');
await runCommandLine();
