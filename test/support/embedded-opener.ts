/** Opens the embedded database in the folder of argv, prints the result as one line, and releases it when stdin ends. */
import { openEmbedded } from '../../src/embedded/embedded.ts';

const [dataDir = ''] = process.argv.slice(2);
const { url, created, release } = await openEmbedded({ dataDir, durable: false });
process.stdout.write(`${JSON.stringify({ url, created })}\n`);
process.stdin.resume().on('end', release);
