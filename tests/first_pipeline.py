"""The pipeline that newcomers meet first. It must work as it is written here."""

ORDERS_IN = """\
orders-in:
  source:
    files: {paths: ["inbox/*.ndjson"], codec: ndjson, polling_interval: 2s}
  route:
    - paid: '/status == "PAID"'
  sink:
    - iceberg:
        table_identifier: shop.orders
        auto_create: true
        schema_evolution: true
        schema:
          columns: [{name: id, type: long, required: true}, {name: at, type: timestamptz}, \
{name: amount, type: "decimal(12,2)"}, {name: status, type: string}]
          partition_spec: [{column: at, transform: day}]
        commit_interval: 10s
        dlq: {iceberg: {table_identifier: shop.dead_letters}}
    - iceberg: {table_identifier: shop.paid, auto_create: true, routes: [paid]}
"""
