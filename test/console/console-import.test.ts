/** The import of a CSV file in the console. */
import { expect, test } from 'vitest';
import { checkQuotes } from '../../console/src/pages/lists/import-quotes.ts';

const start = 'email,name\nann@x.test,Ann\n';
const end = 'cid@x.test,Cid\ndan@x.test,Dan\n';

test.each([
  ['that is never closed', `${start}bob@x.test,"Bob\n${end}`],
  ['that is closed by one in a later row', `${start}bob@x.test,"Bob\n${end}eve@x.test,"Eve"\n`],
  ['inside a quoted cell', `${start}bob@x.test,"Bob "the bell" Ringer"\n${end}`],
])('a quotation mark %s is refused with its row', async (_, text) => {
  // Also where the row is in a later chunk than the first.
  for (const chunkSize of [1_000_000, 10]) {
    await expect(checkQuotes(text, ',', chunkSize)).rejects.toThrow(/^Row 3: .*Nothing was imported\.$/);
  }
});

test('quoted cells with line breaks and doubled quotation marks are accepted', async () => {
  await checkQuotes(`${start}bob@x.test,"Bob ""the bell""\nRinger"\ncid@x.test,5"\n${end}`, ',', 10);
});
