// Tags: full, docker-release, user-release
import { afterAll } from 'vitest';
import { describeFaults } from '../support/faults/describe-faults.ts';
import { ENGINE_CASES, faultyEngine, forgetFaults } from './cases/engines.ts';

afterAll(forgetFaults);
await describeFaults({ name: 'engines', cases: ENGINE_CASES, arena: faultyEngine });
