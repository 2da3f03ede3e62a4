import Papa from 'papaparse';
import { texts } from '../../texts/lists.ts';

/**
 * Rejects a file with a quotation mark that is not closed or not doubled: the rows after it would become part of one cell.
 * The whole file is read before anything is imported.
 */
export function checkQuotes(file: File | string, delimiter: string, chunkSize: number): Promise<void> {
  let rows = 0;
  return new Promise((resolve, reject) => {
    Papa.parse<string[]>(file as File, {
      delimiter,
      chunkSize,
      chunk: ({ data, errors }, parser) => {
        const found = errors.find(({ type }) => type === 'Quotes');
        if (found) {
          reject(new Error(texts.badQuote(rows + (found.row ?? 0) + 1)));
          parser.abort();
        }
        rows += data.length;
      },
      complete: () => resolve(),
      error: reject,
    });
  });
}
