import { isStreamedInit } from '@szafa/protocol';
import { Ajv, type ValidateFunction } from 'ajv';
import fastJson, { type Schema } from 'fast-json-stringify';
import type { FastifySchemaCompiler, FastifySerializerCompiler } from 'fastify';
import type { FastifyValidationResult } from 'fastify/types/schema.js';
import { namedSchemas } from './schemas.ts';

/** Delays compilation to the first use: compiling all routes and answers at once took a quarter of a worker's startup time. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

// Numbers too large for a double are still accepted: a huge dir_id is valid and simply matches no directory.
const ajv = once(() => new Ajv({ schemas: namedSchemas(), strictNumbers: false }));
const named = once(() => {
  const pairs = namedSchemas().map((schema) => [(schema as { $id: string }).$id, schema]);
  return Object.fromEntries(pairs) as Record<string, Schema>;
});

/** The validator of a named schema. */
export const validatorOf = <T>(name: string) => ajv().getSchema<T>(name) as ValidateFunction<T>;

/** Builds a validator for Fastify that chooses the validation function by the value. */
function validateWith(find: (value: unknown) => ValidateFunction): FastifyValidationResult {
  const validate: FastifyValidationResult = (value) => {
    const check = find(value);
    const isValid = check(value);
    validate.errors = check.errors ?? null;
    return isValid;
  };
  return validate;
}

const compileValidator: FastifySchemaCompiler<object> = ({ schema }) =>
  validateWith(once(() => ajv().compile(schema)));

/** Validates init by whichever of its two schemas the client meant, so that the error message fits. */
export const compileInitValidator: FastifySchemaCompiler<object> = () =>
  validateWith((value) => validatorOf(isStreamedInit(value) ? 'StreamedInit' : 'Init'));

/** For bodies that the handler validates. */
export const compileNoValidator: FastifySchemaCompiler<object> = () => () => true;

const compileSerializer: FastifySerializerCompiler<object> = ({ schema }) => {
  const compiled = once(() => fastJson(schema as Schema, { schema: named() }));
  return (value) => compiled()(value);
};

/** Without these, Fastify would load its own compilers. It types the factory by those, hence the casts. */
export const compilersFactory = {
  buildValidator: () => compileValidator as never,
  buildSerializer: () => compileSerializer as never,
};
