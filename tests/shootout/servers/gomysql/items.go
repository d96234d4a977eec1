// What both Go servers ask a database.
package main

import "database/sql"

func ask(db *sql.DB, query string) ([][]interface{}, error) {
	rows, err := db.Query(query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := [][]interface{}{}
	for rows.Next() {
		var id, price int64
		var name string
		if err := rows.Scan(&id, &name, &price); err != nil {
			return nil, err
		}
		found = append(found, []interface{}{id, name, price})
	}
	return found, rows.Err()
}
