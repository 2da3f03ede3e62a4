/** Parsers of bodies that are files: text in UTF-8, or any bytes. */
import type { FastifyInstance } from 'fastify';
import { AppError } from '../../core/errors.ts';
import type { LargeBodies } from './large-bodies.ts';
import { decodeBody } from './validation.ts';

/** The media type of a route that accepts every type; its body is a Buffer. */
export const anyType = '*/*';

/** Makes a Fastify scope accept only this media type. */
export function acceptFiles(app: FastifyInstance, type: string, largeBodies: LargeBodies): void {
  app.removeAllContentTypeParsers();
  if (type === anyType) {
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (request, bytes: Buffer, done) =>
      largeBodies.run(request, bytes, () => done(null, bytes)),
    );
    return;
  }
  app.addContentTypeParser(type, { parseAs: 'buffer' }, (request, bytes: Buffer, done) =>
    largeBodies.run(request, bytes, () => {
      const [, charset = 'utf-8'] = /;\s*charset="?([^";\s]+)/i.exec(request.headers['content-type'] ?? '') ?? [];
      const text = /^utf-?8$/i.test(charset) ? decodeBody(bytes) : undefined;
      if (text !== undefined) return done(null, text);
      const message = 'the file is not encoded as UTF-8: save it as "CSV UTF-8" and send it again';
      return done(new AppError('request.malformed', message));
    }),
  );
}
