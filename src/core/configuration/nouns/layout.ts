import { Type } from 'typebox';
import { templateLimits } from '../../render/template/limits.ts';
import { declareNoun } from './noun.ts';
import { Name } from './schemas.ts';

export const layout = declareNoun({
  name: 'layout',
  description: 'The frame around HTML emails. Messages that name no layout use the one named default.',
  key: 'name',
  foldsKey: true,
  fields: {
    name: Type.String({ ...Name, description: 'Messages that name no layout use the one named default.' }),
    body: Type.String({
      minLength: 1,
      maxLength: templateLimits.source,
      description: 'HTML with Liquid, around {{ content }}.',
    }),
  },
});
