/** Lets the tests wait longer for a database connection: a starved machine may take longer than the service would wait. */
import { connecting } from '../../src/db/connection/pool.ts';

connecting.timeoutMs = 60_000;
