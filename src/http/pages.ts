/** For now empty. */
import type { FastifyInstance } from 'fastify';

export function registerPages(_app: FastifyInstance): void {}
