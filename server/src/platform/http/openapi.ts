/** The OpenAPI document. It is generated on the first request for it, since most workers never get one. */
import swagger, { type SwaggerOptions } from '@fastify/swagger';
import { type Route, routes } from '@szafa/protocol';
import Fastify from 'fastify';
import { compilersFactory } from './compilers.ts';
import type { Document } from './docs.ts';
import { namedSchemas, schemaOf, urlOf } from './schemas.ts';

const OPTIONS: SwaggerOptions = {
  exposeHeadRoutes: true,
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'szafa',
      version: '1',
      description:
        'A zero-knowledge store for files that the client has encrypted and split into numbered volumes. ' +
        'Errors are {error}; those of the token check (401) and the file ownership check (403) are {detail}.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    // Relative to the address of the document.
    servers: [{ url: '/' }],
    components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
  },
  // The generator marks every body as required, and names HEAD operations itself.
  transformObject: (document) => {
    const { openapiObject } = document as unknown as { openapiObject: Document };
    for (const [name, { path, method, optionalBody }] of Object.entries<Route>(routes)) {
      const operation = openapiObject.paths[path]?.[method.toLowerCase()];
      if (operation) operation.operationId = name;
      if (optionalBody && operation?.requestBody) operation.requestBody.required = false;
    }
    return openapiObject as never;
  },
  refResolver: { buildLocalReference: (json, _base, _fragment, at) => String(json['$id'] ?? `Schema${at}`) },
};

/** Generates the document from the route table, in a Fastify application that does not listen. */
export async function openapiDocument(): Promise<Document> {
  const app = Fastify({ exposeHeadRoutes: false, schemaController: { compilersFactory } });
  for (const schema of namedSchemas()) app.addSchema(schema);
  await app.register(swagger, OPTIONS);
  for (const [name, route] of Object.entries<Route>(routes)) {
    app.route({
      url: urlOf(route),
      method: route.method,
      schema: schemaOf(name, route),
      handler: async () => undefined,
    });
  }
  await app.ready();
  return app.swagger() as unknown as Document;
}
