import { isStreamedInit } from '@szafa/protocol';
import { Ajv, type ValidateFunction } from 'ajv';
import fastJson, { type Schema } from 'fast-json-stringify';
import type { FastifySchemaCompiler, FastifySerializerCompiler } from 'fastify';
import type { FastifyValidationResult } from 'fastify/types/schema.js';
import { namedSchemas } from './schemas.ts';

/** For its first use: the compilers of all routes and answers at once took a quarter of a worker's start. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

// Numbers beyond those of a double are numbers: a huge dir_id is an integer, and is nobody's directory.
const ajv = once(() => new Ajv({ schemas: namedSchemas(), strictNumbers: false }));
const named = once(() => {
  const pairs = namedSchemas().map((schema) => [(schema as { $id: string }).$id, schema]);
  return Object.fromEntries(pairs) as Record<string, Schema>;
});

/** What checks a value by a schema with a name. */
export const validatorOf = <T>(name: string) => ajv().getSchema<T>(name) as ValidateFunction<T>;

const compileValidator: FastifySchemaCompiler<object> = ({ schema }) => {
  const compiled = once(() => ajv().compile(schema));
  const validate: FastifyValidationResult = (value) => {
    const check = compiled();
    const isValid = check(value);
    validate.errors = check.errors ?? null;
    return isValid;
  };
  return validate;
};

/** Init by one of its two schemas, so that what is wrong is told by the one that was meant. */
export const compileInitValidator: FastifySchemaCompiler<object> = () => {
  const validate: FastifyValidationResult = (value) => {
    const check = validatorOf(isStreamedInit(value) ? 'StreamedInit' : 'Init');
    const isValid = check(value);
    validate.errors = check.errors ?? null;
    return isValid;
  };
  return validate;
};

/** What the handler checks. */
export const compileNoValidator: FastifySchemaCompiler<object> = () => () => true;

const compileSerializer: FastifySerializerCompiler<object> = ({ schema }) => {
  const compiled = once(() => fastJson(schema as Schema, { schema: named() }));
  return (value) => compiled()(value);
};

/** Said when the application is made: Fastify loads its own compilers otherwise. It types them by those. */
export const compilersFactory = {
  buildValidator: () => compileValidator as never,
  buildSerializer: () => compileSerializer as never,
};
